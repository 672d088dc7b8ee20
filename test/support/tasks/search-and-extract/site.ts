import { differs, firstOf } from "../checks.ts";
import { task } from "../task.ts";

interface State {
  queries: string[];
  viewed: string[];
}

const PRODUCTS = [
  { id: 11, name: "Storm lantern, brass", price: 42.5, stock: 7, sku: "LN-118" },
  { id: 12, name: "Folding lantern", price: 16.9, stock: 0, sku: "LN-077" },
  { id: 13, name: "Deck lantern, galvanised", price: 18.4, stock: 3, sku: "LN-204" },
  { id: 14, name: "Lantern hook", price: 21, stock: 30, sku: "AC-012" },
  { id: 15, name: "Paper lantern, set of ten", price: 19.99, stock: 4, sku: "LN-310" },
  { id: 16, name: "Mooring rope, 10 m", price: 24.8, stock: 15, sku: "RP-010" },
  { id: 17, name: "Bilge pump", price: 63, stock: 2, sku: "PM-003" },
  { id: 18, name: "Brass cleat", price: 9.2, stock: 48, sku: "CL-021" },
];

/** A shop whose results come while one types, and whose article numbers stand on the products' own pages. */
export const searchAndExtract = task<State>({
  name: "search-and-extract",
  goal:
    "Search the shop for 'lantern'. Among the results take the cheapest product that is in stock, open its own page, and " +
    "return {name, price, sku}: its name, its price as a number and its article number (SKU).",
  newState: () => ({ queries: [], viewed: [] }),
  answer: ({ state, path, query }) => {
    if (path === "products") {
      const q = (query.get("q") ?? "").trim().toLowerCase();
      state.queries.push(q);
      const found = q === "" ? [] : PRODUCTS.filter(({ name }) => name.toLowerCase().includes(q));
      return Response.json(found.map(({ id, name, price, stock }) => ({ id, name, price, stock })));
    }
    const product = PRODUCTS.find(({ id }) => path === `products/${id}`);
    if (!product) return Response.json({ error: "no such product" }, { status: 404 });
    state.viewed.push(product.sku);
    return Response.json(product);
  },
  verify: ({ result, server_state: { queries, viewed } }) =>
    firstOf(
      differs("the result", result, {
        name: "Deck lantern, galvanised",
        price: 18.4,
        sku: "LN-204",
      }),
      queries.includes("lantern") ? null : "nobody searched for lantern",
      viewed.includes("LN-204") ? null : "the product's page was not opened",
    ),
});
