import { log, session } from "flotilla";

interface Product {
  name: string;
  price: number;
  in_stock: boolean;
}

await session.fill({ selector: "input[type=search]", text: "lantern" });
await session.wait({ selector: "article.card" });
const found = (await session.evaluate({
  code: `[...document.querySelectorAll("article.card")].map((card) => ({
    name: card.querySelector("a").textContent,
    price: Number(card.querySelector(".price").textContent.replace(",", ".").replace(/[^0-9.]/g, "")),
    in_stock: card.textContent.includes("in stock"),
  }))`,
})) as Product[];
await log(`${found.length} products found`);
const [best] = found.filter((p) => p.in_stock).sort((a, b) => a.price - b.price);
if (!best) throw new Error("no product is in stock");

await session.click({ selector: `article.card a:text-is("${best.name}")` });
await session.wait({ selector: "dl" });
const sku = await session.text({ selector: "dt:text-is('Article no.') + dd" });

export default { name: best.name, price: best.price, sku };
