import { session } from "flotilla";

async function choose(field: string, month: string, day: number): Promise<void> {
  await session.click({ selector: `input[name=${field}]` });
  for (let turns = 0; turns < 24; turns += 1) {
    await session.wait({ selector: ".calendar b:text-matches('20')" });
    if ((await session.text({ selector: ".calendar b" })) === month) break;
    await session.click({ selector: "[aria-label='Next month']" });
  }
  await session.click({ selector: `.days button:text-is("${day}")` });
}

await choose("out", "March 2027", 14);
await choose("back", "April 2027", 2);
await session.click({ selector: "[aria-label=More]" });
await session.click({ selector: "#book" });

await session.wait({ selector: "[role=status]:has-text('reference')" });
const text = (await session.text({ selector: "[role=status]" })) as string;
export default { reference: /reference: (\S+)/.exec(text)?.[1] };
