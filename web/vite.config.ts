import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// Twice the same page: as a folder to serve, and with `--mode single` as one file to open from disk.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: mode === "single" ? [viteSingleFile({ removeViteModuleLoader: true })] : [],
  worker: { format: "iife" },
  build: {
    target: "es2022",
    outDir: mode === "single" ? "../out/web-single" : "../out/web",
    emptyOutDir: true,
    assetsInlineLimit: mode === "single" ? Number.MAX_SAFE_INTEGER : 0,
    chunkSizeWarningLimit: 4000,
  },
}));
