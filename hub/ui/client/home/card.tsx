import type { ReactNode } from "react";
import { Link } from "wouter";

interface CardProps {
  title: string;
  /** Beside the title, in small. */
  note?: ReactNode;
  /** At the end of the line. */
  aside?: ReactNode;
  /** Where all of it is. */
  more?: { label: string; href: string };
  className?: string;
  children: ReactNode;
}

/** A part of Home: one subject with its title. */
export function Card({ title, note, aside, more, className = "", children }: CardProps) {
  return (
    <section className={`home-card ${className}`} aria-label={title}>
      <header className="home-card-head">
        <h2>{title}</h2>
        {note && <span className="home-note">{note}</span>}
        {aside}
        {more && (
          <Link className="home-more" href={more.href}>
            {more.label}
            <span aria-hidden> ›</span>
          </Link>
        )}
      </header>
      {children}
    </section>
  );
}
