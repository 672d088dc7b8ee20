export { Page } from "./pipeline/overview.tsx";
