// Times in the person's own zone: relative in words (the same words as app/web/templates.py), absolute in the title.
// "Now" is the server's clock at load, carried on by the monotonic one.
const atLoad = performance.now();
const served = Date.parse(document.querySelector('meta[name="desk-now"]')?.content ?? "");
const now = () => (Number.isNaN(served) ? Date.now() : served + performance.now() - atLoad);
const full = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const midnight = (moment) => new Date(moment).setHours(0, 0, 0, 0);

function ago(then) {
  const seconds = (now() - then) / 1000;
  const days = Math.round((midnight(now()) - midnight(then)) / 86_400_000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (days === 0 || seconds < 6 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  if (days === 1) return "Yesterday";
  if (days < 7) return `${days} days ago`;
  return (new Date(then).getFullYear() === new Date(now()).getFullYear() ? day : year).format(then);
}

function refresh() {
  for (const el of document.querySelectorAll("time[data-time]")) {
    const then = Date.parse(el.dateTime);
    if (Number.isNaN(then)) continue;
    const text = el.dataset.time === "absolute" ? short.format(then) : ago(then);
    if (el.textContent !== text) el.textContent = text;
    const title = full.format(then);
    if (el.title !== title) el.title = title;
  }
}

document.addEventListener("htmx:after:swap", refresh);
setInterval(refresh, 30_000);
refresh();
