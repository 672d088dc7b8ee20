import { session } from "flotilla";

const csv = ["name,age", "Ada,36", "Grace,45", "Edsger,52", ""].join("\n");
const content_base64 = Buffer.from(csv).toString("base64");

await session.set_input_files({
  selector: "input[type=file]",
  files: [{ name: "people.csv", mime: "text/csv", content_base64 }],
});
await session.wait({ selector: "#publish" });
const checked = (await session.text({ selector: "[role=status]" })) as string;

await session.click({ selector: "#publish" });
await session.wait({ selector: "[role=status]:has-text('Receipt')" });
const published = (await session.text({ selector: "[role=status]" })) as string;

export default {
  rows: Number(/(\d+) rows/.exec(checked)?.[1]),
  receipt: /Receipt (\S+)/.exec(published)?.[1],
};
