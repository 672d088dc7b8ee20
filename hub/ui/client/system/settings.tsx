export { Page } from "../fleet/settings.tsx";
