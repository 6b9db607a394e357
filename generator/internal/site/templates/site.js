// The pages can be read without this script. It adds the choice of colours, buttons that copy code, and
// the search.
"use strict";
var searchIndex;
const themes = ["system", "light", "dark"];
let theme = "system";
try { theme = localStorage.getItem("theme") || theme; } catch { /* storage may be forbidden: the choice lasts for the page */ }
const paint = () => {
  if (theme === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
};
paint();

const make = (name, attributes, ...children) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
};

const addTheme = () => {
  const button = make("button", { type: "button" });
  const label = () => {
    button.textContent = { system: "Auto", light: "Light", dark: "Dark" }[theme];
    button.setAttribute("aria-label", "Colours: " + button.textContent);
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("theme", theme); } catch { /* as above */ }
    paint();
    label();
  });
  label();
  document.getElementById("theme").append(button);
};

const addCopying = () => {
  for (const block of document.querySelectorAll("pre")) {
    const typed = [...block.querySelectorAll(".typed")].map(e => e.textContent).join("");
    const text = typed || block.textContent;
    const button = make("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    const around = make("div", { class: "code" });
    block.replaceWith(around);
    around.append(block, button);
  }
};

// The first words of a text.
const beginning = text => text.length <= 110 ? text : text.slice(0, 110).replace(/\s+\S*$/, "") + " …";

// Score of an entry for the words of a question; 0 when it lacks one.
const score = (words, title, page, text) => {
  let sum = 0;
  for (const word of words) {
    const at = title.indexOf(word), last = title.lastIndexOf("." + word);
    if (title === word) sum += 100;
    else if (last >= 0 && last + 1 + word.length === title.length) sum += 60;
    else if (at === 0 || last >= 0) sum += 40 - Math.min(20, title.length / 4);
    else if (at > 0) sum += 20 - Math.min(10, title.length / 8);
    else if (page.includes(word)) sum += 6;
    else if (text.includes(word)) sum += 4;
    else return 0;
  }
  return sum;
};

const find = question => {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = [];
  for (const page of words.length ? searchIndex : []) {
    for (const [anchor, title, text] of page.s) {
      let n = score(words, title.toLowerCase(), page.t.toLowerCase(), text.toLowerCase());
      if (n && !anchor) n += 15;
      if (n && !page.u.startsWith("kinds/")) n += 10;
      if (n) hits.push({ n, url: page.u + (anchor && "#" + anchor), title, page: page.t, text });
    }
  }
  return hits.sort((a, b) => b.n - a.n).slice(0, 25);
};

const addSearch = () => {
  const root = document.body.dataset.root;
  const input = make("input", { type: "search", placeholder: "Search", title: "Press / to search", "aria-label": "Search", role: "combobox", "aria-expanded": "false", autocomplete: "off" });
  const list = make("ol", { role: "listbox" });
  document.getElementById("search").append(input, list);
  let chosen = 0, loading = false;
  const choose = n => {
    const links = [...list.querySelectorAll("a")];
    chosen = Math.max(0, Math.min(n, links.length - 1));
    links.forEach((a, i) => a.setAttribute("aria-selected", i === chosen));
    if (links[chosen]) links[chosen].scrollIntoView({ block: "nearest" });
  };
  const show = () => {
    list.replaceChildren();
    if (!searchIndex || !input.value.trim()) return;
    const hits = find(input.value);
    for (const h of hits) {
      const line = make("small", {}, make("i", {}, h.page), h.text ? " · " + beginning(h.text) : "");
      list.append(make("li", {}, make("a", { href: root + h.url, role: "option" }, make("b", {}, h.title), line)));
    }
    if (!hits.length) list.append(make("li", { class: "none" }, "Nothing has all of these words."));
    input.setAttribute("aria-expanded", hits.length > 0);
    choose(0);
  };
  const load = () => {
    if (loading) return;
    loading = true;
    const script = make("script", { src: root + "search.js" });
    script.addEventListener("load", show);
    document.head.append(script);
  };
  input.addEventListener("focus", load);
  input.addEventListener("input", () => { load(); show(); });
  input.addEventListener("keydown", e => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { choose(chosen + (e.key === "ArrowDown" ? 1 : -1)); e.preventDefault(); }
    const link = list.querySelectorAll("a")[chosen];
    if (e.key === "Enter" && link) { link.click(); list.replaceChildren(); input.blur(); }
    if (e.key === "Escape") { list.replaceChildren(); input.blur(); }
  });
  document.addEventListener("click", e => { if (!e.target.closest("#search")) list.replaceChildren(); });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { input.focus(); e.preventDefault(); }
  });
};

// What scrolls sideways can be reached by the keyboard.
const addFocus = () => {
  for (const e of document.querySelectorAll("pre, table")) if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
};

document.addEventListener("DOMContentLoaded", () => {
  addTheme();
  addCopying();
  addSearch();
  addFocus();
  const here = document.querySelector(".pages [aria-current]");
  if (here) here.scrollIntoView({ block: "center" });
});
