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
  const show = (text, x, y) => {
    if (!text) return hide();
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(x + 12, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
  };
  const words = (element) => texts.get(element) || element.closest?.("[data-tip]")?.dataset.tip;
  document.addEventListener("pointerover", (event) => show(words(event.target), event.clientX, event.clientY));
  // What can have the focus says the same.
  document.addEventListener("focusin", (event) => {
    const box = event.target.getBoundingClientRect();
    show(words(event.target), box.right, box.bottom - 8);
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
  // Sort: a column head is a button; data-v holds the number behind a cell.
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.textContent.trim();
    const number = "v" in cell.dataset ? Number(cell.dataset.v) : text === "" ? NaN : Number(text);
    return Number.isNaN(number) ? text : number;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.tagName !== "TH") return;
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
      const typed = input.value.toLowerCase().split(/\s+/);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !typed.every((word) => text.includes(word));
      }
    });
    input.hidden = false;
  }
  document.documentElement.dataset.ready = "1";
})();
