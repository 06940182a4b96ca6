"use strict";
// A list of episodes: narrowed by words and outcomes, sorted by a column.
(() => {
  const list = document.getElementById("list");
  if (!list) return;
  const body = list.querySelector("tbody"), rows = [...body.rows];
  const search = list.querySelector("input"), found = document.getElementById("found");
  const chips = [...list.querySelectorAll("button[data-outcome]")], heads = [...list.querySelectorAll("thead th")];
  const { compare } = new Intl.Collator("en", { numeric: true });

  function narrow() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const outcomes = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.outcome);
    for (const row of rows) {
      const { outcome, text } = row.dataset;
      row.hidden = (outcomes.length > 0 && !outcomes.includes(outcome)) || !words.every((word) => text.includes(word));
    }
    const count = rows.filter((row) => !row.hidden).length;
    found.textContent = count === rows.length ? `${count} episodes` : `${count} of ${rows.length} episodes`;
  }
  function sort(column) {
    const direction = heads[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((head, k) => head.setAttribute("aria-sort", k !== column ? "none" : direction > 0 ? "ascending" : "descending"));
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const number = (row) => (value(row).trim() === "" ? NaN : Number(value(row)));
    const order = (a, b) => Number.isFinite(number(a) - number(b)) ? number(a) - number(b) : compare(value(a), value(b));
    body.append(...rows.sort((a, b) => direction * order(a, b)));
  }
  search.addEventListener("input", narrow);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") !== "true");
      narrow();
    });
  }
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(column)));
  body.addEventListener("click", (event) => { // a row is as good as its link
    if (!event.target.closest("a") && !String(getSelection())) event.target.closest("tr")?.querySelector("a").click();
  });
  narrow();
})();
