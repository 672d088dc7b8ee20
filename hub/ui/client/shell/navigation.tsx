import { Link, useLocation } from "wouter";
import { HOME, loadPage, PAGES } from "../pages.tsx";

const PARTS = [
  { part: "fleet", title: "Fleet" },
  { part: "pipeline", title: "Pipeline" },
] as const;

/** Plain elements: two dozen links stand here before any page is drawn. */
export function Navigation({ onGo }: { onGo: () => void }) {
  const [location] = useLocation();
  const here = location === "/" ? HOME : location;
  return (
    <nav className="nav-pages" aria-label="Pages">
      {PARTS.map(({ part, title }) => {
        const pages = PAGES.filter((page) => page.part === part && page.nav);
        if (pages.length === 0) return null;
        return (
          <div key={part} className="nav-part">
            <p className="nav-label">{title}</p>
            {pages.map(({ path, title: name, nav }) => (
              <Link
                key={path}
                href={path}
                className="nav-link"
                data-active={here === path || here.startsWith(`${path}/`) || undefined}
                aria-current={here === path ? "page" : undefined}
                onClick={onGo}
                onPointerEnter={() => void loadPage(path).catch(() => {})}
              >
                {nav && <nav.icon size={18} stroke={1.6} />}
                {name}
              </Link>
            ))}
          </div>
        );
      })}
    </nav>
  );
}
