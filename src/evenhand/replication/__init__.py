"""The published figures that Evenhand is measured against, and what it measures itself."""
