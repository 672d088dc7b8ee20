/**
 * What most pages are made of: imported by the app itself it is part of its first file, where the bundler would make a
 * file of a few hundred bytes of each, twenty of them to a page.
 */
export { Checkbox, Popover, Select, Tabs, TextInput } from "@mantine/core";
export { density } from "../lib/density.ts";
export { useFilters } from "../lib/filters.ts";
export { useNow } from "../lib/now.ts";
export { ConfirmButton } from "./confirm.tsx";
export { DataTable } from "./data-table.tsx";
export { FactList } from "./facts.tsx";
export { FormErrors } from "./form-errors.tsx";
export { PageHead } from "./page-head.tsx";
export { Pager } from "./pager.tsx";
export { SidePanel } from "./side-panel.tsx";
export { Status } from "./status-mark.tsx";
export { Clip } from "./text.tsx";
