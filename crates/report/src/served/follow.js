(() => {
  "use strict";
  const bar = document.getElementById("served");
  const status = bar.querySelector("span");
  const key = "surefoot " + location.pathname;
  let said = "· follows by itself";
  const summary = (details) => details.querySelector("summary").textContent;
  // What was open and where one was, from before the page was loaded again.
  const kept = JSON.parse(sessionStorage.getItem(key) || "null");
  sessionStorage.removeItem(key);
  if (kept) {
    for (const details of document.querySelectorAll("details")) details.open ||= kept.open.includes(summary(details));
    scrollTo(0, kept.y);
    said += ", last at " + new Date().toLocaleTimeString();
  }
  const again = () => {
    const open = [...document.querySelectorAll("details[open]")].map(summary);
    sessionStorage.setItem(key, JSON.stringify({ y: scrollY, open }));
    location.reload();
  };
  bar.querySelector("a").addEventListener("click", (event) => { event.preventDefault(); again(); });
  const ask = async () => {
    try {
      const answer = await fetch(bar.dataset.ask, { cache: "no-store" });
      const { version } = await answer.json();
      status.textContent = said;
      // Not while somebody types into a filter.
      if (version !== bar.dataset.version && !document.activeElement.matches("input,select,textarea")) return again();
    } catch {
      status.textContent = "· surefoot serve does not answer; this page is as it was last";
    }
    setTimeout(ask, 2000);
  };
  setTimeout(ask, 2000);
})();
