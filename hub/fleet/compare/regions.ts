import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type { PictureCompared } from "#shared/protocol/schema/comparison.ts";

type Box = PictureCompared["boxes"][number];

/** A cell of a grid, and the first and last of its pixels that differ. */
interface Cell {
  column: number;
  row: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Pixels of a cell's side, at first: what differs within it belongs together. */
const CELL = 16;
/** More columns than a picture can have. */
const COLUMNS = 65_536;

const keyOf = (column: number, row: number): number => row * COLUMNS + column;

function join(into: Cell, { left, top, right, bottom }: Cell): void {
  into.left = Math.min(into.left, left);
  into.top = Math.min(into.top, top);
  into.right = Math.max(into.right, right);
  into.bottom = Math.max(into.bottom, bottom);
}

/** The cells of a grid that is half as fine. */
function coarser(cells: Map<number, Cell>): Map<number, Cell> {
  const larger = new Map<number, Cell>();
  for (const cell of cells.values()) {
    const [column, row] = [cell.column >> 1, cell.row >> 1];
    const known = larger.get(keyOf(column, row));
    if (known) join(known, cell);
    else larger.set(keyOf(column, row), { ...cell, column, row });
  }
  return larger;
}

/** The cell and those that touch it, and those that touch them, corners included; they leave `cells`. */
function takeGroup(cells: Map<number, Cell>, first: Cell): Cell {
  const group = { ...first };
  const open = [first];
  for (let cell = open.pop(); cell; cell = open.pop())
    for (const row of [cell.row - 1, cell.row, cell.row + 1])
      for (const column of [cell.column - 1, cell.column, cell.column + 1]) {
        const other = cells.get(keyOf(column, row));
        if (!other) continue;
        cells.delete(keyOf(column, row));
        join(group, other);
        open.push(other);
      }
  return group;
}

function groupsOf(cells: Map<number, Cell>): Cell[] {
  const left = new Map(cells);
  const groups: Cell[] = [];
  for (const cell of cells.values())
    if (left.has(keyOf(cell.column, cell.row))) groups.push(takeGroup(left, cell));
  return groups;
}

/** Collects the pixels that differ, and joins those that are near each other into boxes. */
export class Regions {
  readonly #cells = new Map<number, Cell>();

  add(x: number, y: number): void {
    const column = Math.floor(x / CELL);
    const row = Math.floor(y / CELL);
    const cell = this.#cells.get(keyOf(column, row));
    if (!cell) {
      this.#cells.set(keyOf(column, row), { column, row, left: x, top: y, right: x, bottom: y });
      return;
    }
    if (x < cell.left) cell.left = x;
    if (x > cell.right) cell.right = x;
    cell.bottom = y;
  }

  /** From the top. Where there are too many, the grid grows coarser, so that every pixel stays in one of them. */
  boxes(most: number = COMPARISON_LIMITS.boxes): Box[] {
    let cells = this.#cells;
    let groups = groupsOf(cells);
    while (groups.length > most) {
      cells = coarser(cells);
      groups = groupsOf(cells);
    }
    return groups
      .toSorted((a, b) => a.top - b.top || a.left - b.left)
      .map(({ left, top, right, bottom }) => ({
        x: left,
        y: top,
        width: right - left + 1,
        height: bottom - top + 1,
      }));
  }
}
