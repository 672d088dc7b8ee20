import { differs, firstOf, referenceNumber } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  /** Names the order to the delivery service, which is another origin and knows no visitor. */
  order: string;
  address: Record<string, string> | null;
}

const WANTED = {
  name: "Noor Haddad",
  street: "Sluisweg 14",
  city: "Delft",
  country: "Netherlands",
  service: "express",
};

/** A checkout whose delivery form lies in a frame of another origin, and asks for the country before it shows the rest. */
export const iframeForm = task<State>({
  name: "iframe-form",
  goal:
    "Fill in the delivery form of the checkout: name Noor Haddad, street Sluisweg 14, city Delft, country Netherlands, " +
    "express service. Send it, and return {confirmation}: the confirmation number that the checkout shows then.",
  newState: () => ({ order: crypto.randomUUID(), address: null }),
  answer: async ({ state, method, path, query, request, all }) => {
    if (path === "order") return Response.json({ order: state.order });
    if (path === "countries")
      return Response.json({ countries: ["Belgium", "Germany", "Netherlands", "Norway"] });
    const order = all().find((one) => one.order === query.get("order"));
    if (path !== "delivery" || method !== "POST" || !order)
      return Response.json({ error: "no such order" }, { status: 404 });
    order.address = (await request.json()) as Record<string, string>;
    return Response.json({ confirmation: referenceNumber("D", order.address) });
  },
  verify: ({ result, server_state: { address } }) =>
    firstOf(
      differs("the delivery that was sent", address, WANTED),
      differs("the result", result, { confirmation: referenceNumber("D", WANTED) }),
    ),
});
