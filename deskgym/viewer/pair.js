"use strict";
// Both episodes move together from here; each moves alone by its own buttons and keys.
(() => {
  const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };
  const move = (name) => {
    for (const frame of document.querySelectorAll("iframe")) frame.contentWindow.postMessage({ move: name }, "*");
  };
  for (const button of document.querySelectorAll("[data-move]"))
    button.addEventListener("click", () => move(button.dataset.move));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    move(KEYS[event.key]);
  });
})();
