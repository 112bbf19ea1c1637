//! Plugin.
