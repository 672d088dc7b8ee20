import { Link, useLocation } from "wouter";
import { useHealth } from "../lib/health.ts";
import { HOME, loadPage, PAGES, type PageEntry, pageAt } from "../pages.tsx";
import { PLACES, type Place } from "./places.ts";
import { useTrouble } from "./trouble.ts";

type NavPage = PageEntry & { nav: NonNullable<PageEntry["nav"]> };

/** The pages of a place that the navigation names. */
export const pagesOf = (place: Place): NavPage[] =>
  PAGES.filter((page): page is NavPage => page.place === place && page.nav !== undefined);

/** The places this server has something in, with the page that each opens with. */
const OPEN = PLACES.flatMap((one) => {
  const [first] = pagesOf(one.place);
  return first ? [{ ...one, path: first.path }] : [];
});
export const MAIN_PLACES = OPEN.filter(({ place }) => place !== "system");
const SYSTEM = OPEN.filter(({ place }) => place === "system");

/** Where a place begins, for an address that has no page of it: `/ui/library`. */
export const placePath = (path: string): string | undefined =>
  OPEN.find(({ place }) => path === `/ui/${place}`)?.path;

const load = (path: string) => void loadPage(path).catch(() => {});

/** The page, the place it is in, and which of that place's pages it belongs to. */
export function useHere() {
  const [location] = useLocation();
  const path = location === "/" ? HOME : location;
  const place = pageAt(path)?.place;
  const pages = place === undefined ? [] : pagesOf(place);
  const under = pages
    .filter((one) => path === one.path || path.startsWith(`${one.path}/`))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return { path, place, pages, under };
}

/** Links to the pages of the open place. */
export function SubPages({ className }: { className: string }) {
  const { path, pages, under } = useHere();
  if (pages.length < 2) return null;
  return pages.map(({ path: to, nav }) => (
    <Link
      key={to}
      href={to}
      className={className}
      data-active={to === under?.path || undefined}
      aria-current={to === path ? "page" : undefined}
      onPointerEnter={() => load(to)}
    >
      {nav.label}
    </Link>
  ));
}

function PlaceLink({ one, trouble }: { one: (typeof OPEN)[number]; trouble: string | undefined }) {
  const { place, path } = useHere();
  const { data: health } = useHealth();
  const busy = one.place === "browsers" && health && "lanes" in health ? health.lanes.busy : 0;
  return (
    <Link
      href={one.path}
      className="place"
      title={one.title}
      data-active={one.place === place || undefined}
      aria-current={one.path === path ? "page" : undefined}
      onPointerEnter={() => load(one.path)}
    >
      <one.icon size={18} stroke={1.75} aria-hidden />
      <span className="place-name">{one.title}</span>
      {busy > 0 && <span className="place-count">{busy} live</span>}
      {trouble && <span className="place-dot" role="img" aria-label={trouble} title={trouble} />}
    </Link>
  );
}

function Places({ of }: { of: typeof OPEN }) {
  const { place } = useHere();
  const trouble = useTrouble();
  return of.map((one) => (
    <div key={one.place} className="place-group">
      <PlaceLink one={one} trouble={trouble[one.place]} />
      {one.place === place && <SubPages className="sub-page" />}
    </div>
  ));
}

/** Plain elements: they stand here before any page is drawn. */
export const Navigation = () => (
  <nav className="places" aria-label="Pages">
    <Places of={MAIN_PLACES} />
    <div className="places-end">
      <Places of={SYSTEM} />
    </div>
  </nav>
);
