import { log, session } from "flotilla";

interface Seen {
  posts: { id: number; author: string; title: string }[];
  foot: string;
}

// The feed takes posts out of the document again: each look adds what is new.
const posts = new Map<number, Seen["posts"][number]>();
for (let looks = 0; looks < 200; looks += 1) {
  const seen = (await session.evaluate({
    code: `({
      posts: [...document.querySelectorAll("article")].map((post) => ({
        id: Number(post.dataset.post),
        author: post.querySelector(".author").textContent.replace("by ", ""),
        title: post.querySelector("h2").textContent,
      })),
      foot: document.querySelector("footer").textContent,
    })`,
  })) as Seen;
  for (const post of seen.posts) posts.set(post.id, post);
  if (seen.foot === "No more posts") break;
  await session.scroll({ amount: 2_000 });
  await session.wait({ selector: "footer:not(:text-is('Loading…'))" });
}
await log(`${posts.size} posts seen`);

const titles = [...posts.values()].filter((post) => post.author === "Pieter").map((p) => p.title);
export default { titles };
