// Elements are made of texts only: nothing that a record holds is ever read as HTML.
const el = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
};
const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
const powers = new Intl.NumberFormat("en-US", { notation: "scientific", maximumFractionDigits: 1 });
const number = (value) => grouped.format(value);
const counted = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

const data = JSON.parse(one("#data").textContent);
const sign = {};
const word = {};
for (const [status, mark, text] of data.statuses) [sign[status], word[status]] = [mark, text];
const cell = (status, title) => el("i", { class: `cell ${status}`, role: "img", title: title ?? word[status], "aria-label": title ?? word[status] }, sign[status]);

const distance = (ulp) => (ulp === undefined ? "–" : ulp === 0 ? "0" : `${ulp < 1e6 ? grouped.format(ulp) : powers.format(ulp).replace("E", "×10^")} ulp`);

// What scrolls sideways can be reached by the tab key, and nothing else of its kind.
function reachScrolling() {
  for (const part of all(".scroll, pre")) {
    const scrolls = part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight;
    if (scrolls) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

// A page that is opened as a file may have no clipboard of its own.
async function copy(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = el("textarea", { readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  if (!button) return;
  const before = button.dataset.text ?? button.textContent;
  button.dataset.text = before;
  button.textContent = done ? "copied" : "not copied";
  setTimeout(() => (button.textContent = before), 1500);
}

const command = (text) => {
  const button = el("button", { type: "button", class: "copy", onclick: () => copy(text, button) }, "copy");
  return el("div", { class: "command" }, el("pre", {}, text), button);
};
