import { session } from "flotilla";

/** The middle of everything on the canvas that has about this colour. */
async function middleOf(colour: number[]): Promise<{ x: number; y: number }> {
  const found = await session.evaluate({
    code: `(colour) => {
      const canvas = document.querySelector("canvas");
      const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let x = 0, y = 0, n = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 0 || colour.some((part, c) => Math.abs(data[i + c] - part) > 24)) continue;
        x += (i / 4) % width;
        y += Math.floor(i / 4 / width);
        n += 1;
      }
      return { x: x / n, y: y / n };
    }`,
    arg: colour,
  });
  return found as { x: number; y: number };
}

await session.wait({ selector: "[role=status]:text-is('Click a buoy')" });
const buoys = [
  [0xdd, 0x22, 0x22],
  [0x22, 0x22, 0xdd],
  [0x22, 0xaa, 0x22],
];
for (const [i, colour] of buoys.entries()) {
  const position = await middleOf(colour);
  // The border lies outside of what the page counts from.
  await session.click({ selector: "canvas", position });
  const next = i === 2 ? "The word is" : `${2 - i} to go`;
  await session.wait({ selector: `[role=status]:has-text('${next}')` });
}
const text = (await session.text({ selector: "[role=status]" })) as string;

export default { word: /word is (\S+)/.exec(text)?.[1] };
