import { useLocation } from "wouter";
import "../style/later.css";

/** A link to another place of the console. */
export function PlaceLink({ address, children }: { address: string; children: string }) {
  const [, navigate] = useLocation();
  return (
    <a
      className="place-link"
      href={`/console${address}`}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        navigate(address);
      }}
    >
      {children}
    </a>
  );
}
