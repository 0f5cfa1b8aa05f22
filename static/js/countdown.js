// Time left to decide. The server gives what REMAINS, the browser's monotonic clock counts it down:
// a wrong wall clock changes nothing.
const deadlines = new WeakMap();
const said = new Map(); // approval -> the smallest mark already announced
const MARKS = [[0, "Time ran out. Nothing was changed."], [20_000, "20 seconds left to decide."], [60_000, "One minute left to decide."]];

const leftOf = (el) => {
  if (!deadlines.has(el)) deadlines.set(el, performance.now() + Number(el.dataset.expiresInMs));
  return Math.max(0, deadlines.get(el) - performance.now());
};
const clock = (ms) => {
  const seconds = Math.ceil(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const two = (n) => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
};
const words = (ms) => {
  const [minutes, seconds] = [Math.floor(ms / 60_000), Math.floor((ms % 60_000) / 1000)];
  return [minutes && `${minutes} minute${minutes === 1 ? "" : "s"}`, seconds && `${seconds} second${seconds === 1 ? "" : "s"}`].filter(Boolean).join(" ");
};

// What lies behind an open modal is inert, its live regions too: the modal brings its own.
function announce(text) {
  const place = document.querySelector("dialog[open] [data-live]") ?? document.getElementById("announcer");
  if (!place) return;
  place.textContent = "";
  setTimeout(() => { place.textContent = text; }, 60);
}

function speak(id, left) {
  const [mark, text] = MARKS.find(([at]) => left <= at) ?? [Infinity, `${words(left)} left to decide.`];
  const last = said.get(id);
  if (last !== undefined && mark >= last && left <= last) return;
  if (last !== undefined && mark === Infinity && last === Infinity) return;
  said.set(id, mark);
  announce(text);
}

function expire(el) {
  const approval = el.closest("[data-approval]");
  if (!approval || approval.dataset.expired !== undefined) return;
  approval.dataset.expired = "";
  el.textContent = "Expired";
  for (const button of approval.querySelectorAll("[data-approve], .reject button")) button.disabled = true;
  document.dispatchEvent(new CustomEvent("approval-expired"));
}

function tick() {
  for (const el of document.querySelectorAll("[data-expires-in-ms]")) {
    const left = leftOf(el);
    const text = clock(left);
    if (el.textContent !== text && left > 0) el.textContent = text;
    el.closest(".left")?.classList.toggle("is-soon", left < 60_000);
    if (left === 0) expire(el);
    if (el.dataset.announce !== undefined || left <= 60_000) speak(el.dataset.countdown, left);
  }
}

document.addEventListener("announce", (event) => announce(event.detail));
document.addEventListener("htmx:after:swap", tick);
setInterval(tick, 250);
tick();
