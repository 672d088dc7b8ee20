import { goal, save, session } from "flotilla";

const [, user = "", password = ""] = /user "([^"]+)" and password "([^"]+)"/.exec(goal) ?? [];

await session.fill({ selector: "input[name=user]", text: user });
await session.fill({ selector: "input[name=password]", text: password });
await session.click({ selector: "button:has-text('Log in')" });

const row = "tr:has(td:text-is('March 2026'))";
await session.click({ selector: `${row} button` });
await session.wait({ selector: `${row} a` });
const file = (await session.click({ selector: `${row} a`, wait_for: "download" })) as {
  name: string;
};
const { bytes } = (await session.read_download({ name: file.name })) as { bytes: Uint8Array };
const csv = new TextDecoder().decode(bytes);
await save("march.csv", csv, { mime: "text/csv" });

const [head = "", ...lines] = csv.trim().split("\n");
const at = head.split(",").indexOf("amount");
const total = lines.reduce((sum, line) => sum + Number(line.split(",")[at]), 0);

export default { total };
