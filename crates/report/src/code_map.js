const picture = document.querySelector(".map svg");
const whole = picture.viewBox.baseVal;
const start = [whole.x, whole.y, whole.width, whole.height];
const packages = [...picture.querySelectorAll(".package")];
const edges = [...picture.querySelectorAll(".edge")];
const told = document.getElementById("selected");
const tools = document.querySelector(".tools");
const wanted = tools.querySelector("input");
const shown = tools.querySelector("output");
tools.hidden = false;
const show = (x, y, width, height) => Object.assign(whole, { x, y, width, height });
const zoom = (factor, x = whole.x + whole.width / 2, y = whole.y + whole.height / 2) => {
  const width = Math.min(Math.max(whole.width * factor, 100), start[2] * 4);
  const real = width / whole.width;
  show(x - (x - whole.x) * real, y - (y - whole.y) * real, width, whole.height * real);
};
const pan = (x, y) => show(whole.x + x, whole.y + y, whole.width, whole.height);
// units of the drawing in one pixel
const scale = () => Math.max(whole.width / picture.clientWidth, whole.height / picture.clientHeight);
const select = (one) => {
  for (const other of packages) other.classList.toggle("selected", other === one);
  for (const edge of edges) {
    const uses = one && edge.dataset.from === one.dataset.n;
    const user = one && edge.dataset.to === one.dataset.n;
    edge.classList.toggle("selected", Boolean(uses || user));
    edge.classList.toggle("user", Boolean(user));
  }
  told.textContent = one ? one.querySelector("title").textContent : "";
};
const search = () => {
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = packages.filter((one) => {
    const text = one.dataset.words.toLowerCase();
    const is = words.length > 0 && words.every((word) => text.includes(word));
    one.classList.toggle("found", is);
    return is;
  });
  picture.classList.toggle("faded", words.length > 0);
  shown.textContent = words.length ? `${found.length} of ${packages.length}` : "";
  return found;
};
let turn = 0;
wanted.addEventListener("input", () => { turn = 0; search(); });
wanted.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  const found = search();
  if (found.length === 0) return;
  const one = found[turn++ % found.length];
  const box = one.getBBox();
  select(one);
  pan(box.x + box.width / 2 - whole.x - whole.width / 2, box.y + box.height / 2 - whole.y - whole.height / 2);
});
for (const button of tools.querySelectorAll("button")) {
  button.addEventListener("click", () => {
    if (button.value === "all") show(...start);
    else zoom(Number(button.value));
  });
}
picture.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, at.x, at.y);
}, { passive: false });
let last = null;
let moved = 0;
picture.addEventListener("pointerdown", (event) => { last = event; moved = 0; });
picture.addEventListener("pointermove", (event) => {
  if (!last || event.buttons === 0) return;
  const [x, y] = [last.clientX - event.clientX, last.clientY - event.clientY];
  moved += Math.abs(x) + Math.abs(y);
  if (moved > 3) picture.classList.add("dragged");
  pan(x * scale(), y * scale());
  last = event;
});
window.addEventListener("pointerup", () => { last = null; picture.classList.remove("dragged"); });
picture.addEventListener("click", (event) => {
  if (moved <= 3) select(event.target.closest(".package"));
});
const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
picture.addEventListener("keydown", (event) => {
  const step = steps[event.key];
  if (step) pan(step[0] * whole.width / 10, step[1] * whole.height / 10);
  else if (event.key === "+") zoom(1 / 1.2);
  else if (event.key === "-") zoom(1.2);
  else return;
  event.preventDefault();
});
