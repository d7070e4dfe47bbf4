import ArrowLeft from "icon:arrow-left";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { usePageTitle } from "../app/news.ts";
import { IconButton } from "../parts/button.tsx";
import "../style/later.css";

/** A place with parts of which one is shown. */
export interface Segment {
  label: string;
  address: string;
  isHere: boolean;
}

/** A list and beside it one of its entries; a narrow window shows either. */
export function ListAndOne({
  title,
  segments,
  segmentsLabel,
  back,
  isOpen,
  actions,
  note,
  list,
  children,
}: {
  title: string;
  segments?: readonly Segment[];
  segmentsLabel?: string;
  /** The address of the list. */
  back: string;
  /** Whether an entry is chosen. */
  isOpen: boolean;
  actions?: ReactNode;
  /** What is said of all of it, above both. */
  note?: ReactNode;
  list: ReactNode;
  children: ReactNode;
}) {
  const [, navigate] = useLocation();
  usePageTitle(title);
  return (
    <div className="shaping" data-open={isOpen || undefined}>
      <header className="page-head">
        {isOpen && (
          <span className="shaping-back">
            <IconButton label={title} onClick={() => navigate(back)}>
              <ArrowLeft size={18} />
            </IconButton>
          </span>
        )}
        <h1>{title}</h1>
        {segments !== undefined && <Segments label={segmentsLabel ?? title} segments={segments} />}
        {actions}
      </header>
      {note}
      <div className="shaping-columns">
        <div className="shaping-list">{list}</div>
        <div className="shaping-one">{children}</div>
      </div>
    </div>
  );
}

/** The parts of a place, each with its address. */
export function Segments({ label, segments }: { label: string; segments: readonly Segment[] }) {
  const [, navigate] = useLocation();
  return (
    <div className="segments" role="group" aria-label={label}>
      {segments.map((one) => (
        <button key={one.address} type="button" aria-pressed={one.isHere} onClick={() => navigate(one.address)}>
          {one.label}
        </button>
      ))}
    </div>
  );
}

/** One entry of the list. */
export function ListEntry({
  title,
  name,
  isHere,
  chip,
  icon,
  onOpen,
}: {
  title: ReactNode;
  name?: string;
  isHere: boolean;
  chip?: string | undefined;
  icon?: ReactNode;
  onOpen: () => void;
}) {
  return (
    <button type="button" className="shaping-entry" aria-current={isHere || undefined} onClick={onOpen}>
      {icon}
      <span>
        {title}
        {name !== undefined && <small className="mono">{name}</small>}
      </span>
      {chip !== undefined && <b className="chip">{chip}</b>}
    </button>
  );
}

/** The field that filters a list. */
export function ListSearch({
  label,
  query,
  onQuery,
  className = "",
}: {
  label: string;
  query: string;
  onQuery: (query: string) => void;
  className?: string;
}) {
  return (
    <input
      type="search"
      className={`input ${className}`}
      value={query}
      aria-label={label}
      placeholder={label}
      onChange={({ target }) => onQuery(target.value)}
    />
  );
}
