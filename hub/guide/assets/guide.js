// What a page of the guide does beyond its links and its form: results as you type, a key for the search, and a button that
// copies code. The guide is whole without it.

const form = document.querySelector(".search");
const input = form.querySelector("input");
const list = form.querySelector(".found");

/** The style shows these lists on wide screens; who cannot see them is told that they are open. */
const unfold = (selector, query) => {
  const list = document.querySelector(selector);
  const wide = matchMedia(query);
  const follow = () => {
    if (list !== null) list.open = wide.matches;
  };
  follow();
  wide.addEventListener("change", follow);
};
unfold(".pages details", "(min-width: 60.01rem)");
unfold(".toc details", "(min-width: 80.01rem)");

/** In a long list of pages, the one that is read stands where it can be seen. */
const pages = document.querySelector(".pages");
const here = pages.querySelector("[aria-current]");
if (here !== null) pages.scrollTop = here.offsetTop - pages.clientHeight / 2;

const SHOWN = 8;
const PAUSE_MS = 120;
let timer = 0;
let asked = 0;

const close = () => {
  asked += 1;
  list.hidden = true;
  list.replaceChildren();
};

const show = ({ results }) => {
  const links = results.slice(0, SHOWN).map(({ title, page, url }) => {
    const link = document.createElement("a");
    link.href = url;
    link.textContent = title;
    if (page !== title)
      link.append(Object.assign(document.createElement("span"), { textContent: page }));
    return link;
  });
  list.replaceChildren(...links);
  list.hidden = links.length === 0;
};

const ask = async () => {
  const query = input.value.trim();
  if (query === "") return close();
  asked += 1;
  const mine = asked;
  const address = `/guide/search?q=${encodeURIComponent(query)}`;
  try {
    const response = await fetch(address, { headers: { accept: "application/json" } });
    if (response.ok && mine === asked) show(await response.json());
  } catch {
    // The form still works.
  }
};

input.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE_MS);
});

/** The arrows go through the field and its results. */
form.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !list.hidden) {
    // Otherwise the browser empties the field.
    event.preventDefault();
    close();
    input.focus();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [input, ...list.children];
  if (step === undefined || stops.length === 1) return;
  event.preventDefault();
  const at = stops.indexOf(document.activeElement);
  stops[(at + step + stops.length) % stops.length].focus();
});
document.addEventListener("click", (event) => {
  if (!form.contains(event.target)) close();
});
form.addEventListener("focusout", (event) => {
  if (event.relatedTarget !== null && !form.contains(event.relatedTarget)) close();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select") !== null;
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
  input.select();
});

/** Pages that come over plain HTTP from another machine have no `navigator.clipboard`. */
const copy = async (block) => {
  const text = block.textContent;
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const range = document.createRange();
  range.selectNodeContents(block);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  if (!document.execCommand("copy")) throw new Error("not copied");
};
for (const block of document.querySelectorAll(".code")) {
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    textContent: "Copy",
  });
  button.addEventListener("click", async () => {
    const done = await copy(block.querySelector("code")).then(
      () => "Copied",
      () => "Press Ctrl C",
    );
    button.textContent = done;
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
  block.append(button);
}
