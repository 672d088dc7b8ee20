import { session } from "flotilla";

await session.click({ selector: "#join", wait_for: "popup" });
await session.check({ selector: "input[name=terms]" });
await session.check({ selector: "input[name=newsletter]" });
await session.click({ selector: "button:has-text('Accept')" });

// The window closes itself: actions go to the first page again.
for (let tries = 0; tries < 100; tries += 1) {
  const tabs = (await session.tabs()) as unknown[];
  if (tabs.length === 1) break;
  await session.wait({ seconds: 0.05 });
}
await session.wait({ selector: "#state:has-text('member number')" });
const text = (await session.text({ selector: "#state" })) as string;

export default { member: /number is (\S+)/.exec(text)?.[1] };
