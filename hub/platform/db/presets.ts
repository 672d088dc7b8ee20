import type { Conn } from "./conn.ts";
import type { PresetsRepo } from "./library-types.ts";
import { slugRows } from "./slug-rows.ts";

export const presetsRepo = (conn: Conn): PresetsRepo =>
  slugRows(conn, conn.t.presets, ["created_at"]);
