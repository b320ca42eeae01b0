for (const box of document.querySelectorAll(".filter")) {
  const input = box.querySelector("input");
  const count = box.querySelector("output");
  const rows = [...box.parentElement.querySelectorAll("tbody tr")];
  box.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}
const valueOf = (cell) => {
  const text = cell.textContent;
  return cell.className === "n" ? Number(cell.dataset.v ?? text.replaceAll(",", "")) : text.toLowerCase();
};
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const isNumber = body.rows[0]?.cells[head.cellIndex].className === "n";
    const last = head.getAttribute("aria-sort") ?? (isNumber ? "ascending" : "descending");
    const order = last === "ascending" ? "descending" : "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const keyed = [...body.rows].map((row) => [valueOf(row.cells[head.cellIndex]), row]);
    keyed.sort((a, b) => sign * compare(a[0], b[0]));
    body.append(...keyed.map((pair) => pair[1]));
  });
}
