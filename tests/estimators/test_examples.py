"""The examples in docstrings run, whatever door their class calls itself by."""

import ast
import doctest
import inspect
import re
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import evenhand.estimators
from evenhand.models.stored_names import source_module

MODULES = [each.name for each in walk_packages(evenhand.estimators.__path__, "evenhand.estimators.")]


def defined_in(module):
    """What a module defines itself, by name, with the methods of its classes."""
    for name, found in vars(module).items():
        if (inspect.isclass(found) or inspect.isfunction(found)) and source_module(found) == module.__name__:
            yield name, found
            yield from ((f"{name}.{key}", each) for key, each in vars(found).items() if inspect.isfunction(each))


def examples():
    for name in MODULES:
        module = import_module(name)
        for called, found in [(name, module), *defined_in(module)]:
            if ">>>" in (found.__doc__ or ""):
                yield pytest.param(module, called, found.__doc__, id=f"{name}:{called}")


EXAMPLES = list(examples())


@pytest.mark.parametrize(("module", "name", "text"), EXAMPLES)
def test_an_example_gives_what_it_shows(module, name, text):
    example = doctest.DocTestParser().get_doctest(text, {**vars(module), "np": np}, name, module.__file__, 0)

    failed, tried = doctest.DocTestRunner(verbose=False).run(example)

    assert tried > 0
    assert failed == 0


def stated_defaults(found):
    """What the table of parameters in a docstring calls the default of each."""
    stated = re.findall(r"^ {4}(\w+) : .*default=(.+)$", found.__doc__, re.M)
    return {name: ast.literal_eval(value) for name, value in stated}


@pytest.mark.parametrize("name", evenhand.estimators.__all__)
def test_defaults_are_those_that_the_docstring_states(name):
    found = getattr(evenhand.estimators, name)
    stated = stated_defaults(found)

    actual = {key: each.default for key, each in inspect.signature(found).parameters.items() if key in stated}

    assert actual == stated
    assert not (inspect.isclass(found) and "default=" in (found.__doc__ or "")) or stated


def test_every_estimator_of_the_door_has_an_example():
    shown = {each.values[1] for each in EXAMPLES}

    assert [name for name in evenhand.estimators.__all__ if name not in shown] == []
