(() => {
  "use strict";
  const bar = document.getElementById("served");
  const status = bar.querySelector("span");
  const key = "surefoot " + location.pathname;
  let said = "· follows by itself";
  // A study may be measured beside the server, which makes a new page for each version: it is asked so seldom that this takes a tenth of the time.
  const [loaded] = performance.getEntriesByType("navigation");
  const pause = Math.min(60000, Math.max(2000, loaded ? 9 * (loaded.responseStart - loaded.requestStart) : 0));
  // The same once more would be read out again.
  const say = (words) => { if (status.textContent !== words) status.textContent = words; };
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
      const isNewer = version !== bar.dataset.version;
      // Not while somebody types into a filter.
      const isBusy = document.activeElement.matches("input,select,textarea");
      if (isNewer && !isBusy) return again();
      say(isNewer ? "· there is more, which comes once no field has the focus" : said);
    } catch {
      say("· surefoot serve does not answer; this page is as it was last");
    }
    setTimeout(ask, pause);
  };
  setTimeout(ask, pause);
})();
