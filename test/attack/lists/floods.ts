import type { AttackList } from "#test/support/rigs/attempts.ts";

const times = (count: number, work: string) => `for (let i = 0; i < ${count}; i += 1) { ${work} }`;
const CLICK_WITH_CTRL = `Object.assign(document.createElement("a"), { href: "/window" })
  .dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));`;
const FORM = `const form = Object.assign(document.createElement("form"), { action: "/window", target: "_blank" });
  document.body.append(form);
  form.submit();`;

/** Code of a page that opens far more windows than pages may have, by how it does. */
export const WINDOW_FLOODS: Record<string, string> = {
  "60 windows by open()": times(60, `open("/window");`),
  "60 windows without an opener": times(60, `open("/window", "", "noopener");`),
  "60 clicks with Ctrl": times(60, CLICK_WITH_CTRL),
  "60 forms": times(60, FORM),
  "windows that open windows": `open("/opener");`,
};

/** Code of a page that changes what the browser shows of it 10,000 times, by how it does. */
export const ADDRESS_FLOODS: Record<string, string> = {
  pushState: times(10_000, `history.pushState({}, "", "/?" + i);`),
  replaceState: times(10_000, `history.replaceState({}, "", "/?" + i);`),
  "location.hash": times(10_000, `location.hash = "#" + i;`),
  "document.title": times(10_000, `document.title = "title " + i;`),
};

/** The others wait for Chromium alone, in one of these ways: `ATTACK_FLOODS=all` makes them too. */
const QUICK = ["60 windows by open()", "windows that open windows", "pushState", "document.title"];
export const chosen = (floods: Record<string, string>): [string, string][] =>
  Object.entries(floods).filter(
    ([name]) => process.env.ATTACK_FLOODS === "all" || QUICK.includes(name),
  );

export const FLOODS: AttackList = {
  what: "A page of a lane: more windows, and more changes of its address and title, than its browser can follow",
  file: "floods.test.ts",
  attempts: [...chosen(WINDOW_FLOODS), ...chosen(ADDRESS_FLOODS)].map(([name]) => name),
};
