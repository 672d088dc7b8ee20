import { log, session } from "flotilla";

interface Book {
  title: string;
  year: number;
  rating: number;
}

const books: Book[] = [];
for (;;) {
  await session.wait({ selector: "#books[aria-busy=false]" });
  const page = (await session.evaluate({
    code: `({
      books: [...document.querySelectorAll("#books li")].map((item) => ({
        title: item.querySelector("b").textContent,
        year: Number(item.querySelector(".year").textContent.match(/\\d+/)[0]),
        rating: Number(item.querySelector(".rating").textContent.match(/[\\d.]+/)[0]),
      })),
      where: document.querySelector("#where").textContent,
      last: document.querySelector("#next").disabled,
    })`,
  })) as { books: Book[]; where: string; last: boolean };
  books.push(...page.books);
  await log(page.where);
  if (page.last) break;
  await session.click({ selector: "#next" });
}

export default books;
