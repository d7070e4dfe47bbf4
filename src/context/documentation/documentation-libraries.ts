import type { Libraries } from "../../library-docs/libraries.ts";
import { libraryDocs, libraryDocsRead } from "../../prompts/templates/library-docs.ts";
import type { DocumentSource } from "./documentation.ts";

/** The documents of the libraries that were added, with blank lines between them. */
export function librariesDocument(source: Libraries): DocumentSource {
  return {
    kind: "library_docs",
    load() {
      const { libraries, documents, problems } = source.load();
      return {
        kind: "library_docs",
        count: libraries.length,
        problems: problems.length,
        tell({ prompts }) {
          if (documents.length === 0) return null;
          const names = [...new Set(documents.map(({ library }) => library))];
          const docs = documents.map(({ text }) => text).join("\n\n");
          return {
            text: prompts.text(libraryDocs, { libraries: names.join(", "), docs: docs.toWellFormed() }),
            acknowledgement: prompts.text(libraryDocsRead, {}),
          };
        },
      };
    },
  };
}
