xquery version "4.0"; 1
