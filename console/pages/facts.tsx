import type { ReactNode } from "react";
import "../style/later.css";

/** What is known of something: names and values. */
export function Facts({ title, rows }: { title: string; rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <section className="prompt-part" aria-label={title}>
      <h2>{title}</h2>
      <dl className="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
