import ChevronRight from "icon:chevron-right";
import { useState, type ReactNode } from "react";

/** A line that opens to show more. */
export function Disclosure({
  title,
  children,
  isOpenAtFirst = false,
}: {
  title: string;
  children: ReactNode;
  isOpenAtFirst?: boolean;
}) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <div className="disclosure" data-open={isOpen || undefined}>
      <button type="button" className="disclosure-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <ChevronRight size={14} className="chevron" />
        {title}
      </button>
      {isOpen && children}
    </div>
  );
}
