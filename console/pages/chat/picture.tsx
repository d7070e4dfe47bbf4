import { useCallback } from "react";
import { visible } from "../../markdown/links.ts";

/** A picture that the page has the bytes of; it is never loaded from anywhere else. */
export function Picture({ blob, name, className = "picture" }: { blob: Blob; name: string; className?: string }) {
  const show = useCallback(
    (image: HTMLImageElement | null) => {
      if (image === null) return undefined;
      const address = URL.createObjectURL(blob);
      image.src = address;
      return () => URL.revokeObjectURL(address);
    },
    [blob],
  );
  return <img ref={show} alt={visible(name)} className={className} />;
}
