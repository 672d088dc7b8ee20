import { canvasClick } from "./canvas-click/site.ts";
import { datePicker } from "./date-picker/site.ts";
import { dragAndDrop } from "./drag-and-drop/site.ts";
import { fileUpload } from "./file-upload/site.ts";
import { iframeForm } from "./iframe-form/site.ts";
import { infiniteScroll } from "./infinite-scroll/site.ts";
import { loginDownload } from "./login-download/site.ts";
import { paginatedList } from "./paginated-list/site.ts";
import { popup } from "./popup/site.ts";
import { searchAndExtract } from "./search-and-extract/site.ts";
import { shadowDom } from "./shadow-dom/site.ts";
import { tableToJson } from "./table-to-json/site.ts";
import type { Task } from "./task.ts";

/** The fixed set. Figures are comparable only while neither sites nor goals change. */
export const TASKS: readonly Task[] = [
  searchAndExtract,
  paginatedList,
  loginDownload,
  infiniteScroll,
  iframeForm,
  fileUpload,
  popup,
  datePicker,
  tableToJson,
  canvasClick,
  shadowDom,
  dragAndDrop,
];

/** The script that does the task. */
export const referenceOf = ({ name }: Task): Promise<string> =>
  Bun.file(`${import.meta.dir}/${name}/reference.ts`).text();
