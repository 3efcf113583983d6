(() => {
  "use strict";
  // Hover: a mark's <title> becomes our own tip, which also answers to touch.
  const tip = document.getElementById("tip");
  const texts = new WeakMap();
  for (const title of document.querySelectorAll("svg path>title,svg rect>title")) {
    texts.set(title.parentNode, title.textContent);
    title.remove();
  }
  const hide = () => { tip.hidden = true; };
  document.addEventListener("pointerover", (event) => {
    const text = texts.get(event.target);
    if (!text) return hide();
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 12, innerWidth - box.width - 8);
    const below = event.clientY + 16;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below + box.height > innerHeight ? event.clientY - box.height - 10 : below) + "px";
  });
  addEventListener("scroll", hide, { passive: true });
  // Sort: a column head is a button; data-v holds the number behind a cell.
  const key = (row, column) => {
    const cell = row.cells[column];
    return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim();
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [key(a, column), key(b, column)];
          const order = typeof x === "number" && typeof y === "number" ? x - y : typeof x === typeof y ? x.localeCompare(y) : typeof x === "number" ? -1 : 1;
          return up ? order : -order;
        });
        table.tBodies[0].append(...rows);
      });
    });
  }
  // Filter: rows that hold all words typed.
  for (const input of document.querySelectorAll("input.filter")) {
    const table = document.getElementById(input.dataset.table);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    input.hidden = false;
  }
  document.documentElement.dataset.ready = "1";
})();
