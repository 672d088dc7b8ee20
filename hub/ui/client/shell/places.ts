import {
  type Icon,
  IconBooks,
  IconDeviceDesktop,
  IconHome,
  IconPhotoScan,
  IconRoute,
  IconSettings,
} from "@tabler/icons-react";

export type Place = "home" | "browsers" | "captures" | "pipelines" | "library" | "system";

/** Where everything in the app is, in the order of the navigation. */
export const PLACES: { place: Place; title: string; icon: Icon }[] = [
  { place: "home", title: "Home", icon: IconHome },
  { place: "browsers", title: "Browsers", icon: IconDeviceDesktop },
  { place: "captures", title: "Captures", icon: IconPhotoScan },
  { place: "pipelines", title: "Pipelines", icon: IconRoute },
  { place: "library", title: "Library", icon: IconBooks },
  { place: "system", title: "System", icon: IconSettings },
];
