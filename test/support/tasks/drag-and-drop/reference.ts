import { session } from "flotilla";

const column = (name: string) => `section[aria-label="${name}"]`;

async function move(card: string, to: string): Promise<void> {
  await session.drag_and_drop({ source: `.card:text-is("${card}")`, target: column(to) });
  await session.wait({ selector: `${column(to)} .card:text-is("${card}")` });
}
await move("Mend sails", "Done");
await move("Varnish deck", "In progress");

export default await session.evaluate({
  code: `Object.fromEntries([...document.querySelectorAll("section")].map((column) => [
    column.ariaLabel,
    [...column.querySelectorAll(".card")].map((card) => card.textContent),
  ]))`,
});
