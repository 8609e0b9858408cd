// A table that is wider than the page scrolls inside a frame of the theme's: the keyboard must reach it.
addEventListener("load", () => {
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) frame.tabIndex = 0;
});
