"""From the records of a run to the content of its page; how that is drawn is the room around this one."""

__all__ = ["calibration", "page_content", "regression", "tuning"]
