import type { AttackList } from "#test/support/rigs/attempts.ts";

const times = (count: number, work: string) => `for (let i = 0; i < ${count}; i += 1) { ${work} }`;
const CLICK_WITH_CTRL = `Object.assign(document.createElement("a"), { href: "/window" })
  .dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));`;
const FORM = `const form = Object.assign(document.createElement("form"), { action: "/window", target: "_blank" });
  document.body.append(form);
  form.submit();`;

/** Code of a page that opens far more windows than pages may have, by how it does. */
export const WINDOW_FLOODS: Record<string, string> = {
  "200 windows by open()": times(200, `open("/window");`),
  "80 windows without an opener": times(80, `open("/window", "", "noopener");`),
  "80 clicks with Ctrl": times(80, CLICK_WITH_CTRL),
  "80 forms": times(80, FORM),
  "windows that open windows": `open("/opener");`,
};

/** Code of a page that changes what the browser shows of it 10,000 times, by how it does. */
export const ADDRESS_FLOODS: Record<string, string> = {
  pushState: times(10_000, `history.pushState({}, "", "/?" + i);`),
  replaceState: times(10_000, `history.replaceState({}, "", "/?" + i);`),
  "location.hash": times(10_000, `location.hash = "#" + i;`),
  "document.title": times(10_000, `document.title = "title " + i;`),
};

export const FLOODS: AttackList = {
  what: "A page of a lane: windows, and changes of its address and its title, more than its browser can follow",
  file: "floods.test.ts",
  attempts: [...Object.keys(WINDOW_FLOODS), ...Object.keys(ADDRESS_FLOODS)],
};
