const search = document.getElementById("search");
const fold = document.getElementById("fold");
const count = document.getElementById("count");
const articles = [...document.querySelectorAll("article")];
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const article of articles) {
    const text = article.textContent.toLowerCase();
    article.hidden = !words.every((word) => text.includes(word));
    shown += article.hidden ? 0 : 1;
  }
  count.textContent = words.length ? `${shown} of ${articles.length}` : "";
});
fold.addEventListener("click", () => {
  const all = [...document.querySelectorAll("details")];
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
  fold.textContent = open ? "Fold all calls" : "Open all calls";
});
