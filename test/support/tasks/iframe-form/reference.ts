import { session } from "flotilla";

const frame = "iframe[title=Delivery]";

await session.select_option({ frame, selector: "select[name=country]", values: ["Netherlands"] });
await session.fill({ frame, selector: "input[name=name]", text: "Noor Haddad" });
await session.fill({ frame, selector: "input[name=street]", text: "Sluisweg 14" });
await session.fill({ frame, selector: "input[name=city]", text: "Delft" });
await session.check({ frame, selector: "input[value=express]" });
await session.click({ frame, selector: "button" });

await session.wait({ selector: "#delivery strong" });
export default { confirmation: await session.text({ selector: "#delivery strong" }) };
