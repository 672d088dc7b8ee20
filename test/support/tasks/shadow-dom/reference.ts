import { session } from "flotilla";

// Selectors go through open shadow roots.
await session.click({
  selector: "button[role=switch][aria-checked=false]:text-is('Weekly digest')",
});
await session.click({ selector: "button[role=switch][aria-checked=true]:text-is('Storm alerts')" });
await session.select_option({ selector: "language-row select", values: ["pt"] });
await session.click({ selector: "button:text-is('Save')" });

await session.wait({ selector: "[role=status]:not(:has-text('Saving')):text-matches('.')" });
export default { message: await session.text({ selector: "[role=status]" }) };
