import { session } from "flotilla";

await session.wait({ selector: "table tbody tr" });

export default await session.evaluate({
  code: `
    const number = (cell) => {
      const copy = cell.cloneNode(true);
      for (const note of copy.querySelectorAll("sup")) note.remove();
      const text = copy.textContent.replace("−", "-").replace(/[,%+\\s]/g, "");
      return /^-?[\\d.]+$/.test(text) ? Number(text) : null;
    };
    let region = "";
    const rows = [];
    for (const row of document.querySelectorAll("tbody tr")) {
      region = row.querySelector("th")?.textContent ?? region;
      const [quarter, visitors, change] = row.querySelectorAll("td");
      if (row.classList.contains("total")) continue;
      rows.push({ region, quarter: quarter.textContent, visitors: number(visitors), change: number(change) });
    }
    return rows;
  `,
});
